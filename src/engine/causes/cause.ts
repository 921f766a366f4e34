/** Cause for which a pod stays pending, as data. Events, logs, pages and the command line render it with `causeText`. */
import type { POD_CAUSES } from '../reason-codes.ts';

/** Object that limits several NodePools together. */
export interface CeilingObject {
  readonly kind: 'NodePolicy' | 'CapacityQuota';
  readonly name: string;
}

export interface CauseObject {
  readonly kind: 'NodePool' | 'Pod' | CeilingObject['kind'];
  readonly name: string;
}

export type CauseCode = (typeof POD_CAUSES)[number];

/** Change that a remedy names, as data. */
export interface RemedyChange {
  readonly of: 'NodePool' | 'Pod';
  /** Labels of requirements, or paths of fields. */
  readonly fields: readonly string[];
  /** Values or labels to allow or to use instead. Empty if the fields should not be restricted. */
  readonly values: readonly string[];
}

/** Gang that did not find room for its minimum number of pods. */
export interface GangShortage {
  readonly name: string;
  /** Minimum number of pods of the gang. */
  readonly minimum: number;
  /** Number of its pods that run or have room. */
  readonly room: number;
}

export const shortageText = ({ name, minimum, room }: GangShortage): string =>
  `gang ${name} needs ${minimum} pods together, room for ${room}`;

export interface Cause {
  readonly code: CauseCode;
  /** Object that rejects the pod. */
  readonly object: CauseObject;
  /** Label, resource, taint or path of the field that decides. */
  readonly field: string;
  /** Value that the pod needs. */
  readonly wanted: string;
  /** Value that the object has. */
  readonly offered: string;
  /** Gang of the pod, if it found not enough room. */
  readonly gang?: GangShortage;
  /** Sentence with the change that lets the pod fit. */
  readonly remedy: string;
  /** Absent if the remedy is not a change of requirements or limits. */
  readonly change?: RemedyChange;
  /** Sentence with the result of a solve with the remedy. Absent if the remedy places the pod, or was not checked. */
  readonly remark?: string;
  /** Time at which the first of the offerings is tried again. */
  readonly nextAttempt?: string;
}

/** Possible causes of a refusal. */
export interface CauseCandidates {
  /** Causes of equally close NodePools, nearest first. */
  readonly causes: readonly Cause[];
  /** Limits of all NodePools that would launch a node for the pod without their limits. */
  readonly limits: readonly Cause[];
}

/** Value that is wanted from a NodePool that can launch no node at all within its limits. */
export const ONE_MORE_NODE = 'one more node';

/** Returns the cause and its remedy in two sentences. */
export function causeText(cause: Cause): string {
  const { remedy, remark, gang } = cause;
  const beginning = gang === undefined ? '' : `${shortageText(gang)}: `;
  return `${beginning}${statement(cause)}. ${remedy}${remark === undefined ? '' : ` ${remark}`}`;
}

/** Returns the cause, its remedy, and the reasons of all NodePools. */
export const withDetails = (cause: Cause, details: string): string => `${causeText(cause)} Details: ${details}`;

function statement({ code, object, field, wanted, offered, nextAttempt }: Cause): string {
  const name = `${object.kind} "${object.name}"`;
  switch (code) {
    case 'no-such-nodepool':
      return `The pod selects ${wanted}, which does not exist (existing NodePools: ${offered})`;
    case 'requirements':
      return `${name} allows ${offered}; ${wanted}`;
    case 'undefined-label':
      return `${name} has no label ${field}; ${wanted}`;
    case 'unknown-instance-type':
      return `${name}: no instance type has ${wanted}`;
    case 'not-offered':
      return `${name} offers ${offered}; ${wanted}`;
    case 'sold-out':
      return `${name} matches, but its capacity is ${nextAttempt === undefined ? 'sold out' : 'not available now'}: ${offered}`;
    case 'spot-price':
      return `${name} matches, but its spot capacity costs too much: ${offered}`;
    case 'too-large':
      return `${name} has no instance type with enough room: ${wanted}, but the largest has ${offered}`;
    case 'volume-limit':
      return `${name} has no instance type that attaches enough volumes: ${wanted}, but a node attaches at most ${offered}`;
    case 'taint':
      return `${name} has the taint ${offered}, which the pod does not tolerate`;
    case 'limits':
      return wanted === ONE_MORE_NODE
        ? `${name} has reached its limit: ${offered}`
        : `${name} cannot launch a node within its limits: ${offered}; ${wanted}`;
    case 'ceiling':
      return `${name} has no room for a node: ${offered}; ${wanted}`;
    default:
      return `${name} ${offered}`;
  }
}
