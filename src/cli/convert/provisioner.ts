/** Provisioner of karpenter.sh/v1alpha5 → NodePool. */
import type { Pair } from 'yaml';
import { AWS_GROUP } from '../../api/labels.ts';
import type { ObjectEdit } from './edit.ts';
import { cleanMetadata, renameAnnotations } from './metadata.ts';
import { isMissing } from './nodes.ts';
import {
  cleanPoolLabels,
  cleanRequirements,
  cleanTaints,
  convertClassRef,
  TEMPLATE,
  TEMPLATE_SPEC,
  writeAlphaDefaults,
} from './pool-template.ts';
import { V1 } from './renames.ts';

export interface PoolOptions {
  /** Whether the requirements stay away that the webhook of the alpha API added. */
  readonly ignoreDefaults?: boolean;
  /** It is a patch: only what it has is converted, and nothing is added. */
  readonly isPatch: boolean;
}

/** What a pool says that belongs to node classes in v1. */
export interface PoolParts {
  /** Block of settings of the kubelet. */
  readonly kubelet?: Pair;
  /** Settings of nodes that were written into the Provisioner. */
  readonly provider?: Pair;
}

/** @throws InputError that names the field which cannot be converted */
export function convertProvisioner(edit: ObjectEdit, options: PoolOptions): PoolParts {
  edit.set(['apiVersion'], V1);
  edit.set(['kind'], 'NodePool');
  cleanMetadata(edit);
  if (!options.isPatch && !edit.has(['spec'])) edit.fail(['spec'], 'is required');
  edit.dropNulls(['spec']);
  const [first] = edit.keys(['spec']);
  edit.set(['spec', 'template'], {}, first);
  const parts = moveTemplate(edit, options);
  if (edit.has(['spec', 'limits', 'resources'])) edit.hoist(['spec', 'limits'], 'resources');
  edit.removeEmpty(['spec', 'limits']);
  convertDisruption(edit, options);
  convertExpiry(edit, options);
  edit.removeEmpty(TEMPLATE);
  return parts;
}

function moveTemplate(edit: ObjectEdit, { isPatch, ignoreDefaults = false }: PoolOptions): PoolParts {
  for (const field of ['labels', 'annotations']) edit.move(['spec', field], [...TEMPLATE, 'metadata', field]);
  cleanPoolLabels(edit, ['spec', 'labels']);
  renameAnnotations(edit, [...TEMPLATE, 'metadata', 'annotations']);
  const parts = moveClass(edit, isPatch);
  const requirements = [...TEMPLATE_SPEC, 'requirements'];
  for (const field of ['requirements', 'taints', 'startupTaints'])
    edit.move(['spec', field], [...TEMPLATE_SPEC, field]);
  cleanRequirements(edit, requirements, ['spec', 'requirements']);
  for (const field of ['taints', 'startupTaints']) cleanTaints(edit, [...TEMPLATE_SPEC, field], ['spec', field]);
  if (isPatch) return parts;
  if (!edit.has(requirements)) edit.set(requirements, []);
  if (!ignoreDefaults) writeAlphaDefaults(edit, requirements);
  return parts;
}

function moveClass(edit: ObjectEdit, isPatch: boolean): PoolParts {
  const reference = [...TEMPLATE_SPEC, 'nodeClassRef'];
  const provider = edit.map(['spec', 'provider']) && edit.remove(['spec', 'provider']);
  if (edit.has(['spec', 'providerRef'])) {
    if (provider !== undefined) edit.fail(['spec', 'providerRef'], 'excludes spec.provider; remove one of them');
    edit.map(['spec', 'providerRef']);
    edit.move(['spec', 'providerRef'], reference);
    convertClassRef(edit, reference);
  } else if (provider !== undefined) {
    const name = edit.text(['metadata', 'name']) ?? '';
    edit.set(reference, { group: AWS_GROUP, kind: 'EC2NodeClass', name });
  } else if (!isPatch) edit.fail(['spec', 'providerRef'], 'is required; name the AWSNodeTemplate of the nodes');
  // documents of that time have either name
  const names = ['kubeletConfiguration', 'kubelet'].filter((name) => edit.map(['spec', name]) !== undefined);
  const [kubelet] = names.map((name) => edit.remove(['spec', name]));
  return { ...(kubelet && { kubelet }), ...(provider && !isMissing(provider.value) && { provider }) };
}

function convertDisruption(edit: ObjectEdit, { isPatch }: PoolOptions): void {
  const after = edit.count(['spec', 'ttlSecondsAfterEmpty']);
  const consolidates = edit.flag(['spec', 'consolidation', 'enabled']);
  if (consolidates && after !== undefined)
    edit.fail(['spec', 'consolidation'], 'excludes spec.ttlSecondsAfterEmpty; remove one of them');
  if (consolidates) {
    edit.rename(['spec', 'consolidation'], 'disruption');
    edit.moveInPlace(['spec', 'disruption', 'enabled'], 'consolidationPolicy', 'WhenEmptyOrUnderutilized');
    edit.set(['spec', 'disruption', 'consolidateAfter'], '0s');
    return;
  }
  const isOff = consolidates === false;
  edit.remove(['spec', 'consolidation']);
  if (after !== undefined) {
    edit.set(['spec', 'disruption'], { consolidationPolicy: 'WhenEmpty' }, 'ttlSecondsAfterEmpty');
    edit.moveAs(['spec', 'ttlSecondsAfterEmpty'], ['spec', 'disruption', 'consolidateAfter'], secondsText(after));
  } else if (!isPatch || isOff) {
    edit.set(['spec', 'disruption'], { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const text =
      'Provisioners with neither consolidation nor ttlSecondsAfterEmpty kept their nodes; NodePools would not';
    edit.note('assumed', ['spec', 'disruption', 'consolidateAfter'], text);
  }
}

function convertExpiry(edit: ObjectEdit, { isPatch }: PoolOptions): void {
  const expireAfter = [...TEMPLATE_SPEC, 'expireAfter'];
  const until = edit.count(['spec', 'ttlSecondsUntilExpired']);
  if (until !== undefined) edit.moveAs(['spec', 'ttlSecondsUntilExpired'], expireAfter, secondsText(until));
  else if (!isPatch) {
    edit.set(expireAfter, 'Never');
    const text = 'Provisioners without ttlSecondsUntilExpired kept their nodes; those of NodePools expire after 720h';
    edit.note('assumed', expireAfter, text);
  }
}

/** Durations in the largest unit that they are a whole number of: `2m`, `1440h`. */
function secondsText(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
