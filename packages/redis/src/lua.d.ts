/** Lua sources are imported as text; the build inlines them. */
declare module '*.lua' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: text imports are default imports
  export default text;
}
