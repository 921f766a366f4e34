/** Messages between the operator's process and its parent. */

export type ToOperator =
  | { readonly kind: 'time'; readonly nowMs: number }
  /** Requests a garbage collection and the remaining memory. */
  | { readonly kind: 'memory' }
  | { readonly kind: 'stop' };

export type FromOperator =
  | { readonly kind: 'started'; readonly metricsPort: number; readonly healthProbePort: number }
  | { readonly kind: 'time'; readonly waitedMs: number }
  | {
      readonly kind: 'memory';
      readonly rss: number;
      readonly heapUsed: number;
      /** Heap of each engine thread, including garbage. */
      readonly threads: readonly number[];
    };
