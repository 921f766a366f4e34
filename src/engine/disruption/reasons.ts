/** Why nodes are disrupted, and how hard the method may push. */
export type DisruptionReason = 'Underutilized' | 'Empty' | 'Drifted';

/**
 * `graceful` methods leave nodes alone whose pods may not be moved; `eventual` ones may take them when the claim's
 * `terminationGracePeriod` will clear them in the end.
 */
export type DisruptionClass = 'graceful' | 'eventual';
