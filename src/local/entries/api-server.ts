export type { Cache, Caches } from '../cache.ts';
export { isConflict, isGone, type ObjectClient } from '../client.ts';
export { cachesInProcess, connectInProcess, nameOf, refOf, runInTurn } from '../in-process.ts';
export { type Api, openApi } from '../kubernetes/apiserver/api.ts';
export type { Randomness } from '../kubernetes/apiserver/core.ts';
