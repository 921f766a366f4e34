/** Names that only tests and scripts of other areas import. */
export { trimmedPod } from '../trimmed.ts';
