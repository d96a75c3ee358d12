/** A picture that is imported is its address in the site. */
declare module '*.svg' {
  const address: string;
  export default address;
}
