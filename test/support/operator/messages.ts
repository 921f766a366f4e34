/** What the operator's process and the one that started it say to each other. */

export type ToOperator =
  | { readonly kind: 'time'; readonly nowMs: number }
  /** Collects garbage, and answers what is left. */
  | { readonly kind: 'memory' }
  | { readonly kind: 'stop' };

export type FromOperator =
  | { readonly kind: 'started'; readonly metricsPort: number; readonly healthProbePort: number }
  | { readonly kind: 'time'; readonly waitedMs: number }
  | {
      readonly kind: 'memory';
      readonly rss: number;
      readonly heapUsed: number;
      /** Of each engine thread, with what is not collected yet. */
      readonly threads: readonly number[];
    };
