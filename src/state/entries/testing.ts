/** Names that only tests and scripts of other areas import. */
export { LaunchFailures } from '../launch-failures.ts';
export { NamedCounter } from '../named-counter.ts';
export { stateNode } from '../node.ts';
export { FIRST_HOLD_MS, LONGEST_HOLD_MS } from '../pod-holds.ts';
export { PodTemplates } from '../pod-templates.ts';
export { openStores } from '../stores.ts';
