/** Reads the pause of the operator every few seconds, and reports the start and the end of each pause. */
import { apiVersionOf, CONFIG_MAP, PAUSE_NAME, PAUSED_PARTS, type Pause, pauseText, readPause } from '#api/objects';
import { ApiError } from '#kube/client';
import { after, type Outcome, type ReconcileContext, type Singleton } from '#kube/reconcilers';
import { messageOf, timestamp } from '#lib';
import { eventOf, OPERATOR_PAUSED, OPERATOR_RESUMED } from '#observe/events';
import { PAUSED } from '#observe/metrics';
import type { Deps } from './deps.ts';

/** Time between two reads. Informers watch kinds, and the operator must not read other ConfigMaps. */
const INTERVAL_MS = 3_000;

interface PauseParts {
  readonly namespace: string;
  /** Called after the end of a pause. */
  readonly resumed: () => void;
}

export class PauseReader implements Singleton {
  readonly name = 'pause';
  readonly singleton = true;
  readonly #deps: Deps;
  readonly #parts: PauseParts;
  /** Reported pause. */
  #reported: Pause | undefined;
  /** Last logged problem. The same problem is logged once. */
  #problem = '';

  constructor(deps: Deps, parts: PauseParts) {
    this.#deps = deps;
    this.#parts = parts;
    deps.cluster.pause.awaitRead();
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    const { client, cluster } = this.#deps;
    const { namespace } = this.#parts;
    try {
      const found = await client.find(CONFIG_MAP, { name: PAUSE_NAME, namespace });
      const pause = found && readPause(found);
      cluster.pause.set(pause);
      this.#log(log, pause?.problem);
    } catch (error) {
      // the role of an older installation lacks this right
      if (isForbidden(error) && !cluster.pause.isRead) cluster.pause.set(undefined);
      this.#log(log, messageOf(error));
    }
    if (cluster.pause.isRead) this.#report(log);
    return after(INTERVAL_MS);
  }

  #log(log: ReconcileContext['log'], problem = ''): void {
    if (problem !== '' && problem !== this.#problem) log.error('failed reading the pause', { error: problem });
    this.#problem = problem;
  }

  /** Reports a change since the last call. The end of a pause comes without a change of the ConfigMap. */
  #report(log: ReconcileContext['log']): void {
    const { clock, cluster, decisions, events, metrics } = this.#deps;
    const before = this.#reported;
    const pause = cluster.pause.current;
    for (const part of PAUSED_PARTS) metrics.gauge(PAUSED).set({ scope: part }, cluster.pause.of(part) ? 1 : 0);
    const text = pause === undefined ? '' : pauseText(pause);
    if (text === (before === undefined ? '' : pauseText(before))) return;
    this.#reported = pause;
    const at = timestamp(clock.now());
    const scope = pause?.scope ?? before?.scope ?? 'all';
    if (pause === undefined) {
      log.info('resuming, the pause has ended', { scope });
      events.publish(eventOf(OPERATOR_RESUMED, this.#object(), { message: OPERATOR_RESUMED.message(scope) }));
    } else {
      log.info('paused', { scope, reason: text });
      events.publish(eventOf(OPERATOR_PAUSED, this.#object(), { message: OPERATOR_PAUSED.message(text) }));
    }
    decisions?.record({ kind: 'pause', at, scope, text });
    cluster.markChanged();
    if (before !== undefined) this.#parts.resumed();
  }

  #object() {
    const { namespace } = this.#parts;
    return {
      apiVersion: apiVersionOf(CONFIG_MAP),
      kind: CONFIG_MAP.kind,
      metadata: { name: PAUSE_NAME, namespace },
    };
  }
}

const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.reason === 'Forbidden';
