/**
 * How long containers take to become ready and to stop. No process runs here: a probe fails when its command can only fail,
 * and otherwise succeeds as early as its settings allow.
 */
import type { Container, Pod } from '../../../api/kubernetes.ts';

/** A container with the fields that only a kubelet reads. */
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

/** A command as text: `sh -c "sleep 5"` as well as `sleep 5`. */
const lineOf = (handler: Handler | undefined): string => (handler?.exec?.command ?? []).join(' ');

/** `false` or `exit 1`, alone or as all that a shell runs. */
const ALWAYS_FAILS = /^(?:\S*sh -\w*c )?(?:\S*\/)?(?:false|exit [1-9]\d*)$/;

/** Milliseconds until a probe has succeeded as often as it must; undefined when it never does. */
function successMs(probe: Probe | undefined): number | undefined {
  if (!probe) return 0;
  if (ALWAYS_FAILS.test(lineOf(probe).trim())) return undefined;
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1 } = probe;
  return 1000 * (initialDelaySeconds + (successThreshold - 1) * periodSeconds);
}

/** From the start of a container to its readiness, in milliseconds; undefined when a probe keeps it from that. */
export function readyAfterMs({ startupProbe, readinessProbe }: RunContainer): number | undefined {
  const startupMs = successMs(startupProbe);
  const readinessMs = successMs(readinessProbe);
  if (startupMs === undefined || readinessMs === undefined) return undefined;
  // both count from the start; readiness is looked at when the startup probe has succeeded
  return Math.max(startupMs, readinessMs);
}

/** When some of a pod's containers become ready, in milliseconds from their start, earliest first. */
export const readyTimesMs = ({ spec }: Pod): readonly number[] =>
  [...new Set(spec.containers.flatMap((container) => readyAfterMs(container) ?? []))].sort((a, b) => a - b);

/** How long a pod's preStop hooks run before its containers are told to stop, in milliseconds. */
export function preStopMs({ spec }: Pod): number {
  const hooks = spec.containers.map(({ lifecycle }: RunContainer) => lifecycle?.preStop);
  const seconds = hooks.map((hook) => hook?.sleep?.seconds ?? Number(/\bsleep\s+(\d+)/.exec(lineOf(hook))?.[1] ?? 0));
  return 1000 * Math.max(0, ...seconds);
}
