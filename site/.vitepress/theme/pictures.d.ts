/** An imported picture is a string: its address in the site. */
declare module '*.svg' {
  const address: string;
  export default address;
}
