/** Names that only tests and scripts of other areas import. */
export type { HookAnswer } from '../provider.ts';
