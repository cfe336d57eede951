/** The package has no type declarations. */
declare module 'provinces' {
  const provinces: readonly { readonly name: string; readonly country: string; readonly short?: string }[];
  export default provinces;
}
