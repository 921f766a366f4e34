/** Names that only tests and scripts of other areas import. */
export { overdueNodes } from '../overdue-nodes.ts';
