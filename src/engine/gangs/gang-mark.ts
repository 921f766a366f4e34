/** Marks of pods that declare a gang. */
import {
  EXCLUSIVE_JOB_ANNOTATION,
  GANG_ANNOTATION,
  GANG_MIN_ANNOTATION,
  GANG_TOPOLOGY_ANNOTATION,
  VOLCANO_GROUP_ANNOTATIONS,
} from '#api/objects';
import { own, remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { namespaceOf } from '../pods.ts';
import { requestTriedBy } from '../provisioning-requests.ts';

/** Declaration of a gang by one of its pods. */
export interface GangMark {
  /** Same text for all pods of a gang. */
  readonly id: string;
  /** Id of the object that declares the gang. Gangs of a Workload can have it in common. */
  readonly groupId: string;
  readonly name: string;
  /** Number of pods that must run together. Undefined if the pod does not declare it. */
  readonly minimum: number | undefined;
  /** Label that must have the same value on all nodes of the gang. */
  readonly topologyKey: string | undefined;
  /** Value that is not valid, with the remedy. */
  readonly problem: string | undefined;
}

type Named = Pick<GangMark, 'name'> & Partial<GangMark>;

/** Maximum number of pods that a gang can require. */
export const MOST_GANG_PODS = 10_000;

/** Values of the annotation for the disruption of a running gang. */
export const GANG_DISRUPTIONS: readonly string[] = ['Together', 'WhenFinished'];

const COSCHEDULING_LABELS = [
  'scheduling.x-k8s.io/pod-group',
  'pod-group.scheduling.sigs.k8s.io',
  'pod-group.scheduling.sigs.k8s.io/name',
] as const;
const COSCHEDULING_MIN_LABEL = 'pod-group.scheduling.sigs.k8s.io/min-available';
const LWS = 'leaderworkerset.sigs.k8s.io';
const JOB_KEY_LABEL = 'jobset.sigs.k8s.io/job-key';

/** Returns the name of the first key with a value. */
const firstOf = (values: Readonly<Record<string, string>>, keys: readonly string[]): string | undefined =>
  keys.map((key) => own(values, key)).find(Boolean);

export const isGangMinimum = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= MOST_GANG_PODS;

function minimumOf(text: string | undefined, field: string): Pick<GangMark, 'minimum' | 'problem'> {
  if (text === undefined) return { minimum: undefined, problem: undefined };
  if (isGangMinimum(text)) return { minimum: Number(text), problem: undefined };
  const problem = `${field} "${text}" is not a number of pods; use an integer from 1 to ${MOST_GANG_PODS}`;
  return { minimum: undefined, problem };
}

/** Sources of marks, by precedence. */
const SOURCES: readonly { readonly source: string; readonly read: (pod: EnginePod) => Named | undefined }[] = [
  {
    source: 'ProvisioningRequest',
    read: (pod) => {
      const name = requestTriedBy(pod);
      if (name === undefined) return undefined;
      return { name, ...minimumOf(own(pod.metadata.annotations ?? {}, GANG_MIN_ANNOTATION), GANG_MIN_ANNOTATION) };
    },
  },
  {
    source: 'PodGroup.scheduling.k8s.io',
    read: ({ spec }) => {
      const name = spec.schedulingGroup?.podGroupName;
      return name ? { name } : undefined;
    },
  },
  {
    source: 'Workload.scheduling.k8s.io',
    read: ({ spec: { workloadRef } }) =>
      workloadRef?.name
        ? {
            name: [workloadRef.name, workloadRef.podGroup, workloadRef.podGroupReplicaKey].filter(Boolean).join('/'),
            groupId: [workloadRef.name, workloadRef.podGroup].filter(Boolean).join('/'),
          }
        : undefined,
  },
  {
    source: 'PodGroup.scheduling.x-k8s.io',
    read: ({ metadata: { labels = {} } }) => {
      const name = firstOf(labels, COSCHEDULING_LABELS);
      return name === undefined
        ? undefined
        : { name, ...minimumOf(own(labels, COSCHEDULING_MIN_LABEL), `label ${COSCHEDULING_MIN_LABEL}`) };
    },
  },
  {
    source: 'PodGroup.scheduling.volcano.sh',
    read: ({ metadata: { annotations = {} } }) => {
      const name = firstOf(annotations, VOLCANO_GROUP_ANNOTATIONS);
      return name === undefined ? undefined : { name };
    },
  },
  {
    // the worker pods of a group may be created after its leader is bound, so the size is not a minimum
    source: 'LeaderWorkerSet',
    read: ({ metadata: { labels = {} } }) => {
      const [set, index] = [own(labels, `${LWS}/name`), own(labels, `${LWS}/group-index`)];
      return set && index ? { name: `${set}-${index}` } : undefined;
    },
  },
  {
    // only the first pod exists until it is bound, so the parallelism is not a minimum
    source: 'JobSet',
    read: ({ metadata: { labels = {}, annotations = {} } }) => {
      const name = own(labels, JOB_KEY_LABEL);
      return name && own(annotations, EXCLUSIVE_JOB_ANNOTATION) ? { name } : undefined;
    },
  },
  {
    source: GANG_ANNOTATION,
    read: ({ metadata: { annotations = {} } }) => {
      const name = own(annotations, GANG_ANNOTATION);
      if (!name) return undefined;
      const topologyKey = own(annotations, GANG_TOPOLOGY_ANNOTATION) || undefined;
      return {
        name,
        topologyKey,
        ...minimumOf(own(annotations, GANG_MIN_ANNOTATION), `annotation ${GANG_MIN_ANNOTATION}`),
      };
    },
  },
];

/** Returns the mark of the first source that applies to the pod, or undefined for an ordinary pod. */
export const gangMarkOf = remembering((pod: EnginePod): GangMark | undefined => {
  for (const { source, read } of SOURCES) {
    const found = read(pod);
    if (found === undefined) continue;
    const { name, groupId = name, minimum, topologyKey, problem } = found;
    const start = `${source} ${namespaceOf(pod)}/`;
    return { id: `${start}${name}`, groupId: `${start}${groupId}`, name, minimum, topologyKey, problem };
  }
  return undefined;
});
