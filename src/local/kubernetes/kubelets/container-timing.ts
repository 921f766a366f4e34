/**
 * Times until containers become ready and stop. No process runs. A probe fails if its command can only fail; otherwise
 * it succeeds as early as its settings allow. An annotation of the pod lets probes of any kind fail; see `pod-status.ts`.
 */
import type { Container, Pod } from '#api/objects';

/** A container with additional fields that only a kubelet reads. */
export interface RunContainer extends Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: Handler };
}

/** Action of a probe or a hook. */
interface Handler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly sleep?: { readonly seconds: number };
}

interface Probe extends Handler {
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
}

/** Returns a command as text, for example `sh -c "sleep 5"` or `sleep 5`. */
const lineOf = (handler: Handler | undefined): string => (handler?.exec?.command ?? []).join(' ');

/** Matches `false` or `exit 1`, alone or as the whole script of a shell. */
const ALWAYS_FAILS = /^(?:\S*sh -\w*c )?(?:\S*\/)?(?:false|exit [1-9]\d*)$/;

/** Returns the milliseconds until a probe reaches its success threshold, or undefined if it never does. */
function successMs(probe: Probe | undefined): number | undefined {
  if (!probe) return 0;
  if (ALWAYS_FAILS.test(lineOf(probe).trim())) return undefined;
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1 } = probe;
  return 1000 * (initialDelaySeconds + (successThreshold - 1) * periodSeconds);
}

/** Returns the milliseconds from the start of a container to its readiness, or undefined if a probe prevents it. */
export function readyAfterMs({ startupProbe, readinessProbe }: RunContainer): number | undefined {
  const startupMs = successMs(startupProbe);
  const readinessMs = successMs(readinessProbe);
  if (startupMs === undefined || readinessMs === undefined) return undefined;
  // both times start with the container; readiness counts only after the startup probe has succeeded
  return Math.max(startupMs, readinessMs);
}

/** Returns the times at which a pod's containers become ready, in milliseconds from their start, in ascending order. */
export const readyTimesMs = ({ spec }: Pod): readonly number[] =>
  [...new Set(spec.containers.flatMap((container) => readyAfterMs(container) ?? []))].sort((a, b) => a - b);

/** Returns the milliseconds that a pod's preStop hooks run before its containers are stopped. */
export function preStopMs({ spec }: Pod): number {
  const hooks = spec.containers.map(({ lifecycle }: RunContainer) => lifecycle?.preStop);
  const seconds = hooks.map((hook) => hook?.sleep?.seconds ?? Number(/\bsleep\s+(\d+)/.exec(lineOf(hook))?.[1] ?? 0));
  return 1000 * Math.max(0, ...seconds);
}
