/** The address in the samples of the reference. A server replaces it by its own, so that they work when pasted. */
export const sampleServer = 'http://127.0.0.1:3000';
