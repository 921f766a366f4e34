/** Section `repair` of a NodePolicy: when and how unhealthy nodes are repaired. */
import { budgetErrors, durationErrors } from './nodepool-validation.ts';
import { choice, type Declared, list, object, optional, text } from './schema/declare.ts';
import { budgetFields, duration, scheduleWithDuration } from './shapes.ts';

/** Actions on an unhealthy node. `Reboot` is followed by `Replace` if the node stays or becomes unhealthy. */
export const REPAIR_ACTIONS = ['Replace', 'Reboot', 'None'] as const;

const condition = object({
  type: text({
    description: 'Type of the condition of the Node, such as `KernelReady`.',
    minLength: 1,
    maxLength: 316,
  }),
  status: choice(['True', 'False', 'Unknown'], { description: 'Status of the condition of an unhealthy node.' }),
  reasons: optional(
    list(text({ minLength: 1, maxLength: 1024 }), {
      description:
        'Reasons of the condition. A reason may end with `*`. An entry with the reason of a node takes precedence over entries without reasons. Default: all reasons.',
      merge: 'set',
      minItems: 1,
      maxItems: 100,
    }),
  ),
  toleration: duration('Time for which the condition must last before the node is repaired.'),
  action: optional(
    choice(REPAIR_ACTIONS, {
      description:
        '`Replace` deletes the NodeClaim. `Reboot` restarts the instance first, once in the life of a NodeClaim. `None` leaves the node. Default: Replace.',
    }),
  ),
  gracePeriod: optional(
    duration('Grace period for this condition. Default: that of the section, and 0s for the condition `Ready`.'),
  ),
});

export const repairSection = object(
  {
    budgets: optional(
      list(object(budgetFields), {
        description:
          'Limits on the number of nodes that are repaired or otherwise disrupted at the same time. The most restrictive active budget applies. Default: 10%.',
        merge: 'atomic',
        minItems: 1,
        maxItems: 50,
        rules: [scheduleWithDuration],
      }),
    ),
    gracePeriod: optional(
      duration(
        'Time for which PodDisruptionBudgets and `karpenter.sh/do-not-disrupt` hold the pods of a node that is repaired. Not for nodes that are not `Ready`. Default: 0s.',
      ),
    ),
    conditions: optional(
      list(condition, {
        description:
          'Conditions of unhealthy nodes. They are added to the default conditions, and replace those with the same type and status.',
        merge: 'atomic',
        maxItems: 50,
      }),
    ),
  },
  { description: 'Repair of unhealthy nodes, with the feature gate NodeRepair.' },
);

export type RepairSection = Declared<typeof repairSection>;

/** Returns the errors of the section that the API server cannot detect. */
export const repairErrors = ({ budgets = [], gracePeriod, conditions = [] }: RepairSection): readonly string[] => [
  ...budgetErrors(budgets, 'budgets'),
  ...durationErrors({ gracePeriod }),
  ...conditions.flatMap(({ toleration, gracePeriod: own }, at) =>
    durationErrors({ [`conditions[${at}].toleration`]: toleration, [`conditions[${at}].gracePeriod`]: own }),
  ),
];
