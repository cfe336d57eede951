/** Of the library, which has no types, what is used here. */
declare module 'swagger2openapi' {
  interface ConvertOptions {
    /** Mends what a document does not say as Swagger requires, instead of failing. */
    patch: boolean;
    warnOnly: boolean;
    /** Whether references to other files are followed. */
    resolve: boolean;
  }
  const converter: { convertObj(document: object, options: ConvertOptions): Promise<{ openapi: object }> };
  export default converter;
}
