/** Of the library, which has no types, what is used here. */
declare module 'swagger2openapi' {
  const converter: { convertObj(document: object, options: object): Promise<{ openapi: object }> };
  export default converter;
}
