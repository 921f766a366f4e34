export type { Cache, Caches } from '../cache.ts';
export { isAnyConflict, isGone, type ObjectClient } from '../client.ts';
export { cachesInProcess, connectInProcess, nameOf, objectRefOf, runInTurn } from '../in-process.ts';
export { type Api, openApi } from '../kubernetes/apiserver/api.ts';
export type { Randomness } from '../kubernetes/apiserver/core.ts';
