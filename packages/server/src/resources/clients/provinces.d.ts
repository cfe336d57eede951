/** The package has no types of its own. */
declare module 'provinces' {
  const provinces: readonly { readonly name: string; readonly country: string; readonly short?: string }[];
  export default provinces;
}
