/** Validates the annotations of this product on pods. */
import {
  GANG_ANNOTATION,
  GANG_DISRUPTION_ANNOTATION,
  GANG_MIN_ANNOTATION,
  GANG_TOPOLOGY_ANNOTATION,
  PREFERENCE_WORTH_ANNOTATION,
  SPOT_SHARE_ANNOTATION,
  SURGE_ANNOTATION,
} from '#api/objects';
import { shareOf } from '#api/values';
import { own, quoted } from '#lib';
import { isVirtual } from './capacity-buffers.ts';
import { isSurgeValue } from './drain/surge.ts';
import { GANG_DISRUPTIONS, isGangMinimum, MOST_GANG_PODS } from './gangs/gang-mark.ts';
import type { EnginePod } from './input.ts';
import { podKey } from './pods.ts';
import { workloadOf } from './workloads.ts';

type Annotations = Readonly<Record<string, string>>;

interface Rule {
  /** @param all annotations of the pod */
  readonly isValid: (value: string, all: Annotations) => boolean;
  /** Effect of an invalid value. */
  readonly effect: string;
  readonly remedy: string;
}

const IGNORED = 'it has no effect';
/** Optional prefix of a label, and its name. */
const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const hasGang = (all: Annotations): boolean => Boolean(own(all, GANG_ANNOTATION));

/** Annotations that users set on pods. */
const RULES: Readonly<Record<string, Rule>> = {
  [PREFERENCE_WORTH_ANNOTATION]: {
    isValid: (value) => shareOf(value) !== undefined,
    effect: IGNORED,
    remedy: 'use a share of the price of the pod such as "25%"',
  },
  [SPOT_SHARE_ANNOTATION]: {
    isValid: (value) => shareOf(value) !== undefined,
    effect: IGNORED,
    remedy: 'use a share of the replicas such as "50%"',
  },
  [SURGE_ANNOTATION]: {
    isValid: isSurgeValue,
    effect: 'the pod is evicted without a restart of its Deployment',
    remedy: 'use "true", "false" or a duration of up to 1h, such as "10m"',
  },
  [GANG_ANNOTATION]: {
    isValid: (value) => value !== '',
    effect: IGNORED,
    remedy: 'use the name of the gang, or remove the annotation',
  },
  [GANG_MIN_ANNOTATION]: {
    isValid: (value, all) => isGangMinimum(value) && hasGang(all),
    effect: 'no gang is launched with it',
    remedy: `use an integer from 1 to ${MOST_GANG_PODS}, and set ${GANG_ANNOTATION}`,
  },
  [GANG_TOPOLOGY_ANNOTATION]: {
    isValid: (value, all) => LABEL_KEY.test(value) && hasGang(all),
    effect: 'nodes of a gang do not share a domain',
    remedy: `use the name of a label such as "topology.kubernetes.io/zone", and set ${GANG_ANNOTATION}`,
  },
  [GANG_DISRUPTION_ANNOTATION]: {
    isValid: (value) => GANG_DISRUPTIONS.includes(value),
    effect: `it counts as "${GANG_DISRUPTIONS[1]}"`,
    remedy: `use ${GANG_DISRUPTIONS.map((value) => `"${value}"`).join(' or ')}`,
  },
};
const NAMES = Object.keys(RULES);

export interface AnnotationProblem {
  readonly annotation: string;
  readonly value: string;
  /** Names the workload, the annotation and the remedy. The same for all pods of a workload. */
  readonly text: string;
}

const NONE: readonly AnnotationProblem[] = [];

/** Returns the annotations of a pod with values that are not valid. */
export function annotationProblems(pod: EnginePod): readonly AnnotationProblem[] {
  const { annotations } = pod.metadata;
  if (annotations === undefined) return NONE;
  const problems = NAMES.flatMap((annotation): AnnotationProblem[] => {
    const value = own(annotations, annotation);
    const rule = RULES[annotation];
    if (value === undefined || rule === undefined || rule.isValid(value, annotations)) return [];
    const text = `${nameOf(pod)}: annotation ${annotation} ${quoted(value)} is not valid, ${rule.effect}; ${rule.remedy}`;
    return [{ annotation, value, text }];
  });
  return problems.length === 0 ? NONE : problems;
}

/** Returns the kind and the name of the workload of a pod, or of the pod itself. */
function nameOf(pod: EnginePod): string {
  const [namespace = '', kind = 'Pod', name = ''] = workloadOf(pod).split('/');
  return kind === 'Pod' ? `pod ${podKey(pod)}` : `${kind} ${namespace === '' ? 'default' : namespace}/${name}`;
}

/** Maximum number of notes about annotations. */
const MOST_NOTES = 20;

/** Returns one note for each problem of a workload. */
export function annotationNotes(pods: readonly EnginePod[]): readonly string[] {
  const users = pods.filter((pod) => !isVirtual(pod));
  const texts = [...new Set(users.flatMap((pod) => annotationProblems(pod).map(({ text }) => text)))];
  const rest = texts.length - MOST_NOTES;
  return rest > 0 ? [...texts.slice(0, MOST_NOTES), `${rest} more annotations are not valid`] : texts;
}
