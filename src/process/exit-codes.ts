/** Exit codes of the operator's process; docs/operations.md lists them. A second signal adds its number to 128. */
export const EXIT = {
  /** A signal stopped the process, possibly during its start. */
  stopped: 0,
  /** The start failed, the lease was lost, or a defect ended the process. */
  failed: 1,
  /** The heap of the main thread is nearly full. Node.js itself uses codes up to 13. */
  outOfMemory: 20,
} as const;
