/** Readiness of the process: its informers, the custom resources, and the provider. */
import { errorText, type Logger } from '#observe/logger';
import { type SharedCheck, type Start, sharedCheck } from '#process/life';
import type { HttpKubeReader } from './http.ts';
import type { ProcessInformers } from './informers.ts';
import { crdsServed } from './server-facts.ts';

/** Time for which a successful check of the custom resources stays valid. */
const CRDS_SEEN_MS = 60_000;
/** Longest wait for the API server in a report of the start. */
const CRDS_MS = 5_000;

interface ReadinessOptions {
  readonly start: Start;
  /** Discovery of the provider, which the start waits for. Empty after its first success: later failures do not count. */
  readonly provider: { waitingFor(): readonly string[] };
  readonly informers: ProcessInformers;
  /** Has a separate rate limit, because any client may send probes. */
  readonly probes: Pick<HttpKubeReader, 'raw'>;
  readonly log: Logger;
  /** Ends the reports of the start. */
  readonly until: AbortSignal;
}

/** Returns the readiness checks by name. Until they pass, logs every ten seconds the work that is left. */
export function readinessChecks(options: ReadinessOptions): Readonly<Record<string, SharedCheck>> {
  const { start, provider, informers, probes, log, until } = options;
  const crd = sharedCheck((signal) => crdsServed(probes, signal), { passMs: CRDS_SEEN_MS, failMs: 1_000 });
  const crdFailure = async (): Promise<readonly string[]> => {
    try {
      await crd(AbortSignal.timeout(CRDS_MS));
      return [];
    } catch (error) {
      return [errorText(error)];
    }
  };
  const waitingFor = async (): Promise<readonly string[]> => [
    ...provider.waitingFor(),
    ...informers.unsynced().map((resource) => `the first list of ${resource}`),
    ...(await crdFailure()),
  ];
  void start.report({ waitingFor, log, until });
  return {
    manager: (signal) => informers.synced(signal),
    crd,
    provider: () => {
      const waiting = provider.waitingFor();
      if (waiting.length > 0) throw new Error(`waiting for ${waiting.join('; ')}`);
    },
  };
}
