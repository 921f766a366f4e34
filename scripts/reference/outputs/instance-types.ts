/** Schema of output about the resources of instance types. */
import { Type } from 'typebox';
import { text, UNKNOWN } from './parts.ts';

export const INSTANCE_TYPE = Type.Array(
  Type.Object({
    instanceType: Type.String(),
    nodePool: Type.String(),
    nodeClass: text('Name of the EC2NodeClass'),
    excluded: Type.Optional(text('Reason why the NodePool launches no nodes of the instance type')),
    resources: Type.Array(
      Type.Object({
        resource: Type.String(),
        lines: Type.Array(
          Type.Object({
            step: Type.Enum(['capacity', 'reserved', 'daemonsets']),
            text: text('Source of the amount'),
            amount: text('Quantity; negative if it is subtracted'),
          }),
          { description: 'Terms of the computation: the sum of each step and the earlier steps is one of the results' },
        ),
        capacity: text('Capacity of the node: sum of the step `capacity`'),
        allocatable: text('Allocatable amount: after the step `reserved`'),
        forPods: text('Amount that remains for pods: after the step `daemonsets`'),
      }),
      { description: 'Resources of a new node, with the volumes of each CSI driver' },
    ),
    unknown: Type.Optional(UNKNOWN),
  }),
  { description: 'Resources of new nodes of an instance type, for each NodePool' },
);
