/** Decides which pods take part in a solve, and registers their topology rules. */
import { messageOf } from '#lib';
import type { DeviceWorld } from '../dra/device-world.ts';
import type { EnginePod } from '../input.ts';
import type { PodRefusal, SolveOptions } from '../model.ts';
import { isHeavy } from '../pod-bounds.ts';
import { isScheduled, podKey } from '../pods.ts';
import type { Topology } from '../topology/topology.ts';
import type { Volumes } from '../volumes.ts';
import type { PodClass, PodClasses } from './pod-class.ts';
import { refusalOf } from './validate.ts';

/** Pod that takes part. */
export interface Entry {
  readonly pod: EnginePod;
  readonly podClass: PodClass;
  readonly isHeavy: boolean;
}

interface AdmissionParts {
  readonly classes: PodClasses;
  readonly volumes: Volumes;
  readonly devices: DeviceWorld | undefined;
  readonly working: SolveOptions['working'];
}

/** Returns the pods that can take part and refuses the rest. */
export function admittedPods(
  pods: readonly EnginePod[],
  { classes, volumes, devices, working }: AdmissionParts,
  refusals: Map<string, PodRefusal>,
): readonly Entry[] {
  const [ofWaiting, ofMoving] = [
    new Map<PodClass, PodRefusal | undefined>(),
    new Map<PodClass, PodRefusal | undefined>(),
  ];
  const entries: Entry[] = [];
  for (const pod of pods) {
    working?.(pod);
    const refusal = refusalOrFailure('read', () => {
      const podClass = classes.of(pod);
      const verdicts = isScheduled(pod) ? ofMoving : ofWaiting;
      if (!verdicts.has(podClass)) verdicts.set(podClass, refusalOf(pod, { volumes, devices }));
      const verdict = verdicts.get(podClass);
      if (verdict === undefined) entries.push({ pod, podClass, isHeavy: isHeavy(pod) });
      return verdict;
    });
    if (refusal !== undefined) refusals.set(podKey(pod), refusal);
  }
  return entries;
}

/** Returns the result of the work for one pod, so that an unexpected error does not affect other pods. */
export function refusalOrFailure<T>(verb: 'read' | 'placed', work: () => PodRefusal | T): PodRefusal | T {
  try {
    return work();
  } catch (error) {
    return { code: 'failed', text: `the pod cannot be ${verb}: ${messageOf(error)}` };
  }
}

export interface RegistrationParts extends Pick<AdmissionParts, 'classes' | 'working'> {
  readonly topology: Topology;
}

/** Registers the rules of every possible form of a pod, so that groups count from the first pod on. */
export function registeredPods(
  entries: readonly Entry[],
  { classes, topology, working }: RegistrationParts,
  refusals: Map<string, PodRefusal>,
): readonly Entry[] {
  const known = new Set<PodClass>();
  return entries.filter(({ pod, podClass }) => {
    if (known.has(podClass)) return true;
    working?.(pod);
    const refusal = refusalOrFailure('read', () => {
      for (let at: PodClass | undefined = podClass; at && !known.has(at); at = classes.relaxed(at)) {
        topology.register(at);
        known.add(at);
      }
      topology.addFollowers(podClass);
      return undefined;
    });
    if (refusal !== undefined) refusals.set(podKey(pod), refusal);
    return refusal === undefined;
  });
}
