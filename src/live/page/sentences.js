/**
 * Sentences for the codes that the operator sends.
 * @import { LiveNode, PodState } from '../model.ts'
 */

/**
 * Verdicts on disruption: sentence and group. The groups are the colours of the map.
 * @type {Readonly<Record<string, readonly [sentence: string, outlook: keyof typeof OUTLOOKS]>>}
 */
const VERDICTS = {
  'in-progress': ['A disruption command is working on the node', 'now'],
  chosen: ['The node is disrupted next', 'now'],
  next: ['The node is disrupted after other nodes', 'soon'],
  deleting: ['The node is being removed', 'now'],
  unmanaged: ['The operator did not launch this node', 'kept'],
  'no-node': ['The instance has not joined the cluster yet', 'new'],
  'not-initialized': ['The node is starting', 'new'],
  nominated: ['A pending pod is expected on the node', 'new'],
  'not-consolidatable': ['Pods were added or removed a short time ago', 'new'],
  'do-not-disrupt': ['The node has the annotation do-not-disrupt', 'protected'],
  'pod-do-not-disrupt': ['A pod has the annotation do-not-disrupt', 'protected'],
  pdb: ['A PDB allows no eviction now', 'protected'],
  'several-pdbs': ['A pod matches several PDBs', 'protected'],
  gang: ['A gang runs on the node, and moves as a whole or not at all', 'protected'],
  budget: ['The disruption budgets of the NodePool are used up', 'protected'],
  limits: ['The limit of the NodePool has no room for a replacement', 'protected'],
  'buffer-pods': ['A CapacityBuffer or ProvisioningRequest reserves the node', 'protected'],
  'consolidation-disabled': ['Consolidation is disabled in the NodePool', 'protected'],
  'only-when-empty': ['The NodePool allows only the removal of empty nodes', 'protected'],
  'no-pool-label': ['The node has no NodePool label', 'kept'],
  'no-pool': ['The NodePool of the node is not known or not ready', 'kept'],
  unreadable: ['The node or one of its pods has an invalid value', 'kept'],
  'static-pool': ['The NodePool has a fixed number of nodes', 'kept'],
  'dynamic-pool': ['The NodePool has no fixed number of nodes', 'kept'],
  'not-empty': ['Pods run on the node', 'kept'],
  empty: ['No pods run on the node', 'kept'],
  'not-drifted': ['The node matches its NodePool and NodeClass', 'kept'],
  'unknown-instance-type': ['The instance type of the node is not known', 'kept'],
  'no-capacity-type': ['The node has no capacity type', 'kept'],
  'no-zone': ['The node has no zone', 'kept'],
  rollout: ['The rollout of its NodePool waits or is halted', 'kept'],
  'pods-stranded': ['A pod could not be scheduled elsewhere', 'kept'],
  'several-replacements': ['Its pods would need several new nodes', 'kept'],
  'min-values': ['Cheaper instance types do not satisfy minValues', 'kept'],
  'not-cheaper': ['No cheaper node exists for its pods', 'kept'],
  'spot-to-spot-disabled': ['Replacing spot by spot is disabled', 'kept'],
  'spot-to-spot-flexibility': ['Too few cheaper spot types are allowed', 'kept'],
  preferences: ['Its pods would lose preferences that are worth more', 'kept'],
  'spot-risk': ['The cheaper spot pools are often interrupted', 'kept'],
  unbalanced: ['The savings are too small for the disruption', 'kept'],
  'not-worth-moving': ['Moving its pods costs more than it saves', 'kept'],
  changed: ['The cluster changed during the decision', 'kept'],
  paused: ['Disruption is paused', 'kept'],
  observed: ['Its NodePool is observed', 'kept'],
  failed: ['The decision failed, see the log of the operator', 'kept'],
  'not-reached': ['Other nodes are disrupted first', 'soon'],
};

/** Groups of verdicts in the order of the legend. */
export const OUTLOOKS = {
  now: 'Disrupted now',
  soon: 'Disrupted after others',
  new: 'New or changed',
  protected: 'Protected',
  kept: 'Stays',
  unknown: 'Not known yet',
};

/** @param {string} code */
const spaced = (code) => `${code.charAt(0).toUpperCase()}${code.slice(1).replaceAll(/[-_]/g, ' ')}`;

/** Reasons of launches and of ends of nodes. @type {Readonly<Record<string, string>>} */
const REASONS = {
  provisioned: 'For pending pods',
  underutilized: 'Consolidated, because its pods cost less elsewhere',
  empty: 'Removed, because no pods were left',
  drifted: 'Replaced, because it no longer matched its NodePool or NodeClass',
  expired: 'Removed, because its maximum age was reached',
  interrupted: 'Removed, because AWS interrupted the instance',
  spot_interrupted: 'Removed, because AWS interrupted the spot instance',
  unhealthy: 'Removed, because the node was unhealthy',
  insufficient_capacity: 'Removed, because EC2 had no capacity for it',
  launch_timeout: 'Removed, because the launch took too long',
  registration_timeout: 'Removed, because the instance did not join the cluster in time',
  nodeclass_not_ready: 'Removed, because its NodeClass was not ready',
  garbage_collected: 'Removed, because its instance no longer existed',
  surplus: 'Removed, because the fixed number of nodes was reduced',
};

/** Returns a sentence for the reason of a launch or of an end. @param {string} reason */
export const reasonText = (reason) => REASONS[reason] ?? spaced(reason);

/** Returns a sentence for the code of a verdict. @param {string} code */
export const sentenceOf = (code) => VERDICTS[code]?.[0] ?? spaced(code);

/** Returns the group of a node's verdict. @param {LiveNode} node @returns {keyof typeof OUTLOOKS} */
export const outlookOf = ({ state, verdict }) => {
  if (state === 'leaving') return 'now';
  if (verdict === undefined) return 'unknown';
  return VERDICTS[verdict.code]?.[1] ?? 'kept';
};

/** @type {Readonly<Record<LiveNode['state'], string>>} */
export const STATES = { launching: 'Launching', starting: 'Starting', ready: 'Ready', leaving: 'Being removed' };
/** @type {Readonly<Record<string, string>>} */
export const POD_PHASES = {
  Pending: 'Starting',
  Running: 'Running',
  Succeeded: 'Finished',
  Failed: 'Failed',
  Terminating: 'Ending',
};
/** @type {Readonly<Record<PodState, string>>} */
export const POD_STATES = { running: 'Running', starting: 'Starting', leaving: 'Ending', daemon: 'DaemonSet' };
