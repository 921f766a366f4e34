/** A step of an EC2NodeClass's reconciliation: looks something up in AWS and writes it into the status. */
import {
  type ConditionUpdate,
  EC2NODECLASS_CONDITIONS,
  EC2NODECLASS_RESERVED_CONDITIONS,
  isTrue,
  setCondition,
} from '../../api/conditions.ts';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/ec2-nodeclass.ts';
import type { Logger } from '../../observe/logger.ts';
import { lastingText, mayPass } from '../errors.ts';

export interface NodeClassStepResult {
  readonly nodeClass: EC2NodeClass;
  /** When to look again; 0 is at once. */
  readonly againMs?: number;
  /** Reported after all steps have run. */
  readonly error?: unknown;
  /** Trying again before the object changes is pointless. */
  readonly terminal?: boolean;
  /** The steps that follow are of no use. */
  readonly last?: boolean;
}

export type NodeClassStep = (nodeClass: EC2NodeClass, log: Logger) => Promise<NodeClassStepResult>;

export interface StepTools {
  readonly setCondition: (nodeClass: EC2NodeClass, update: ConditionUpdate) => EC2NodeClass;
}

/** Reason of a condition that is Unknown because AWS refuses to answer. */
const REFUSED = 'ResolutionFailed';

/**
 * The result of a step that AWS did not let finish. What was found before holds; where nothing was, the condition says why.
 * AWS that is busy or out of reach is asked again soon, and is no reason to write anything.
 */
export function unresolved(
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

/** The NodeClass with some members of its status replaced; undefined removes one. */
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
