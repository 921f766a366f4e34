/** NodeOverlay: corrects prices and adds extended resources of instance types (gate NodeOverlay). */
import { KARPENTER_GROUP, OVERLAY_AWS_KEYS } from './labels.ts';
import { type Declared, int32, object, optional, quantityMap, rule, text } from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions, keyRules, overlayRequirements } from './shapes.ts';

const nodeOverlaySpec = object(
  {
    requirements: overlayRequirements(keyRules(OVERLAY_AWS_KEYS, { nodePoolKey: true })),
    price: optional(
      text({ description: 'Price per hour in USD, instead of the known one.', pattern: '^\\d+(\\.\\d+)?$' }),
    ),
    priceAdjustment: optional(
      text({
        description: 'Change of the known price: an amount such as `+0.5` or `-1`, or a share such as `-10%`.',
        pattern: '^(([+-]{1}(\\d*\\.?\\d+))|(\\+{1}\\d*\\.?\\d+%)|(^(-\\d{1,2}(\\.\\d+)?%)$)|(-100%))$',
      }),
    ),
    capacity: optional(
      quantityMap({
        description: 'Extended resources that the instance types offer besides the known ones.',
        rules: [
          rule(
            "self.all(name, !(name in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
            'invalid resource restricted',
          ),
        ],
      }),
    ),
    weight: optional(
      int32({
        description: 'Of two overlays that set the same thing, the one with the larger weight wins.',
        minimum: 1,
        maximum: 10_000,
      }),
    ),
  },
  {
    description: 'What is changed, and of which instance types.',
    rules: [rule('!has(self.price) || !has(self.priceAdjustment)', "cannot set both 'price' and 'priceAdjustment'")],
  },
);

const nodeOverlayStatus = object(
  { conditions: optional(conditions()) },
  { description: 'Whether the overlay is in force.' },
);

export type NodeOverlaySpec = Declared<typeof nodeOverlaySpec>;
export type NodeOverlay = Resource<typeof nodeOverlaySpec, typeof nodeOverlayStatus>;

export const NODE_OVERLAY_DECLARATION: ResourceDeclaration = {
  group: KARPENTER_GROUP,
  version: 'v1alpha1',
  kind: 'NodeOverlay',
  plural: 'nodeoverlays',
  singular: 'nodeoverlay',
  shortNames: ['overlays'],
  scope: 'Cluster',
  category: 'karpenter',
  description: 'A NodeOverlay corrects the price or adds extended resources of matching instance types.',
  columns: [columns.ready, columns.age, columns.weight],
  spec: nodeOverlaySpec,
  status: nodeOverlayStatus,
};
