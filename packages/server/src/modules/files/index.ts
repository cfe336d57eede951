import { createFile } from './createFile.ts';
import { getFile } from './getFile.ts';
import { listFiles } from './listFiles.ts';

export const files = { listFiles, createFile, getFile };
export { contentOf, contentRoute } from './content-route.ts';
export { checkContentType } from './content-type.ts';
export { signedUrl } from './download-url.ts';
export type { NewFile } from './file.ts';
export { addFile, file } from './file.ts';
export { storeUpload } from './store-upload.ts';
export { maxUploadBytes, placeForUpload, uploadRoute } from './upload-route.ts';
