/** The local world's time; the same shape as the operator's clock, so that both can share one. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  after(ms: number, fire: () => void): () => void;
}
