export { type AmiFamily, familyOf, isWindows } from '../amis/families.ts';
export {
  CONSUMABLE_CAPACITY_ANNOTATION,
  gpuSharing,
  type StaticDrivers,
  staticTemplates,
} from '../dra/static-templates.ts';
export { isPlacementGroupDrifted, nodeClassDrift } from '../drift.ts';
export { type Kubelet, parseKubelet } from '../kubelet/block.ts';
export { kubeletFields } from '../kubelet/block-schema.ts';
export { podTerms } from '../kubelet/pod-limit.ts';
export { NODE_CLASS_KIND } from '../nodeclass/kind.ts';
export { REPAIR_RULES } from '../repair-rules.ts';
