/** Names that only tests and scripts of other areas import. */
export { jsonIn, listIn } from '../answers.ts';
export type { DeleteOptions, PatchOptions, WatchAge } from '../client.ts';
export { DOCUMENT_LABEL } from '../config-map-document.ts';
export { collectionPath } from '../paths.ts';
export { LONGEST_MESSAGE } from '../recorder.ts';
