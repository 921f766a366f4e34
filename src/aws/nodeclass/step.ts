/** Reconcile step of an EC2NodeClass, which resolves resources in AWS and writes them to the status. */
import {
  type ConditionUpdate,
  EC2NODECLASS_CONDITIONS,
  EC2NODECLASS_RESERVED_CONDITIONS,
  type EC2NodeClass,
  type EC2NodeClassStatus,
  isTrue,
  setCondition,
} from '#api/objects';
import type { Logger } from '#observe/logger';
import { lastingText, mayPass } from '../errors.ts';

export interface NodeClassStepResult {
  readonly nodeClass: EC2NodeClass;
  /** Cause of a condition that only AWS shows. The event has it instead of the message of the condition. */
  readonly detail?: { readonly type: string; readonly text: string };
  /** Delay until the next reconciliation. 0 is an immediate retry. */
  readonly againMs?: number;
  /** Error that is reported after all steps have run. */
  readonly error?: unknown;
  /** True if a retry cannot succeed until the object changes. */
  readonly terminal?: boolean;
  /** True if the following steps must not run. */
  readonly last?: boolean;
}

export type NodeClassStep = (nodeClass: EC2NodeClass, log: Logger) => Promise<NodeClassStepResult>;

export interface StepTools {
  readonly setCondition: (nodeClass: EC2NodeClass, update: ConditionUpdate) => EC2NodeClass;
}

/** Reason of a condition that is Unknown because AWS refuses the request. */
const REFUSED = 'ResolutionFailed';

/**
 * Returns the result of a step after a failed request. A condition that is already True is kept. Otherwise the
 * condition becomes Unknown with the error. Temporary failures only cause a retry and change no condition.
 */
export function unresolvedResult(
  { setCondition }: StepTools,
  nodeClass: EC2NodeClass,
  type: string,
  error: Error,
): NodeClassStepResult {
  if (mayPass(error) || isTrue(nodeClass, type)) return { nodeClass, error };
  const update = { type, status: 'Unknown', reason: REFUSED, message: lastingText(error) } as const;
  return { nodeClass: setCondition(nodeClass, update), error };
}

export const stepTools = (now: () => number, reservedCapacity: boolean): StepTools => {
  const set = reservedCapacity ? EC2NODECLASS_RESERVED_CONDITIONS : EC2NODECLASS_CONDITIONS;
  return { setCondition: (nodeClass, update) => setCondition(nodeClass, set, update, now()) };
};

/** Returns the NodeClass with the given members of its status replaced. Undefined removes a member. */
export function withStatus(
  nodeClass: EC2NodeClass,
  members: { [K in keyof EC2NodeClassStatus]: EC2NodeClassStatus[K] | undefined },
): EC2NodeClass {
  const status = { ...nodeClass.status, ...members };
  return {
    ...nodeClass,
    status: Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined)) as EC2NodeClassStatus,
  };
}
