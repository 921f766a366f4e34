/** Names that only tests and scripts of other areas import. */
export { overdueNodes } from '../snapshot.ts';
