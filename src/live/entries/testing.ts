/** Names that only tests and scripts of other areas import. */
export { LiveFeed } from '../stream.ts';
