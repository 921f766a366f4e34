/** Converts a Provisioner of karpenter.sh/v1alpha5 to a NodePool. */
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
  /** If true, omits the requirements that the webhook of the alpha API added by default. */
  readonly ignoreDefaults?: boolean;
  /** True if the object is a patch. Only existing fields of a patch are converted, and no field is added. */
  readonly isPatch: boolean;
}

/** Settings of a pool that belong to a class in v1. */
export interface PoolParts {
  /** Block of kubelet settings. */
  readonly kubelet?: Pair;
  /** Node settings that are embedded in the Provisioner. */
  readonly provider?: Pair;
}

/** @throws InputError with the field that cannot be converted */
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
    if (provider !== undefined)
      edit.fail(['spec', 'providerRef'], 'cannot be combined with spec.provider; remove one of them');
    edit.map(['spec', 'providerRef']);
    edit.move(['spec', 'providerRef'], reference);
    convertClassRef(edit, reference);
  } else if (provider !== undefined) {
    const name = edit.text(['metadata', 'name']) ?? '';
    edit.set(reference, { group: AWS_GROUP, kind: 'EC2NodeClass', name });
  } else if (!isPatch) edit.fail(['spec', 'providerRef'], 'is required; set the name of the AWSNodeTemplate');
  // manifests of the alpha API use both names
  const names = ['kubeletConfiguration', 'kubelet'].filter((name) => edit.map(['spec', name]) !== undefined);
  const [kubelet] = names.map((name) => edit.remove(['spec', name]));
  return { ...(kubelet && { kubelet }), ...(provider && !isMissing(provider.value) && { provider }) };
}

function convertDisruption(edit: ObjectEdit, { isPatch }: PoolOptions): void {
  const after = edit.count(['spec', 'ttlSecondsAfterEmpty']);
  const consolidates = edit.flag(['spec', 'consolidation', 'enabled']);
  if (consolidates && after !== undefined)
    edit.fail(['spec', 'consolidation'], 'cannot be combined with spec.ttlSecondsAfterEmpty; remove one of them');
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
      'Provisioners without consolidation and ttlSecondsAfterEmpty did not remove nodes; NodePools do by default';
    edit.note('assumed', ['spec', 'disruption', 'consolidateAfter'], text);
  }
}

function convertExpiry(edit: ObjectEdit, { isPatch }: PoolOptions): void {
  const expireAfter = [...TEMPLATE_SPEC, 'expireAfter'];
  const until = edit.count(['spec', 'ttlSecondsUntilExpired']);
  if (until !== undefined) edit.moveAs(['spec', 'ttlSecondsUntilExpired'], expireAfter, secondsText(until));
  else if (!isPatch) {
    edit.set(expireAfter, 'Never');
    const text =
      'Provisioners without ttlSecondsUntilExpired did not expire nodes; nodes of NodePools expire after 720h by default';
    edit.note('assumed', expireAfter, text);
  }
}

/** Formats a duration in the largest unit that divides it: `2m`, `1440h`. */
function secondsText(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
