/** A step of an EC2NodeClass's reconciliation: looks something up in AWS and writes it into the status. */
import {
  type ConditionUpdate,
  EC2NODECLASS_CONDITIONS,
  EC2NODECLASS_RESERVED_CONDITIONS,
  setCondition,
} from '../../api/conditions.ts';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/ec2-nodeclass.ts';
import type { Logger } from '../../observe/logger.ts';

export interface StepResult {
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

export type Step = (nodeClass: EC2NodeClass, log: Logger) => Promise<StepResult>;

export interface StepTools {
  readonly setCondition: (nodeClass: EC2NodeClass, update: ConditionUpdate) => EC2NodeClass;
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
