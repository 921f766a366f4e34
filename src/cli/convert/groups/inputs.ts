/** Tells apart what the files hold: groups, launch templates, cluster-autoscaler, files of eksctl. */
import type { Field } from '../../../lib/field.ts';
import { fieldIn } from '../../objects/check.ts';
import { InputError } from '../../objects/errors.ts';
import type { SourceDocument } from '../documents.ts';
import type { Path } from '../notes.ts';

/** A part of a document. */
export interface DocumentPart {
  readonly field: Field;
  readonly where: string;
  readonly path: Path;
}

export interface Inputs {
  readonly managed: readonly DocumentPart[];
  readonly scaling: readonly DocumentPart[];
  readonly templates: readonly DocumentPart[];
  readonly clusters: readonly DocumentPart[];
  readonly autoscalers: readonly DocumentPart[];
  readonly priorities: readonly DocumentPart[];
}

type Kind = keyof Inputs;

/** Names of the fields by which a launch template is referred to. */
export interface ReferenceNames {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

/** The `LaunchTemplateData` that a reference means; undefined when it is not among the files. */
export type FindTemplate = (reference: Field, names: ReferenceNames) => Field | undefined;

export class InputReader {
  readonly inputs: Record<Kind, DocumentPart[]> = {
    managed: [],
    scaling: [],
    templates: [],
    clusters: [],
    autoscalers: [],
    priorities: [],
  };

  /** @throws InputError when the document is none of them */
  read({ document, where }: SourceDocument): void {
    this.#read(document.toJS(), { where, path: [] });
  }

  #read(value: unknown, { where, path }: { where: string; path: Path }): void {
    const field = fieldIn(where, value);
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#read(item, { where: `${where}, item ${index}`, path: [] });
      return;
    }
    if (value === null || value === undefined) return;
    const part = { field: field.object(), where, path };
    if (!field.at('nodegroup').isMissing)
      this.inputs.managed.push({ field: field.at('nodegroup').object(), where, path: ['nodegroup'] });
    else if (
      this.#list(part, 'AutoScalingGroups', 'scaling') ||
      this.#list(part, 'LaunchTemplateVersions', 'templates')
    )
      return;
    else if (!field.at('nodegroups').isMissing)
      throw new InputError(
        where,
        'has the names of node groups alone: give what `aws eks describe-nodegroup` prints of each',
      );
    else this.#object(part);
  }

  #list({ field, where }: DocumentPart, name: string, kind: Kind): boolean {
    const list = field.at(name);
    if (list.isMissing) return false;
    list.items().forEach((item, index) => {
      item.given?.object();
      this.inputs[kind].push({ field: item, where, path: [name, index] });
    });
    return true;
  }

  /** Objects of Kubernetes, and of eksctl, that have a kind. */
  #object(part: DocumentPart): void {
    const { field, where } = part;
    const { value: kind } = field.at('kind');
    if (kind === 'ClusterConfig') this.inputs.clusters.push(part);
    else if (kind === 'ConfigMap') {
      if (!field.at('data').at('priorities').isMissing) this.inputs.priorities.push(part);
    } else if (kind === 'Deployment') this.inputs.autoscalers.push(part);
    else if (typeof kind === 'string' && kind.endsWith('List'))
      for (const [index, item] of field.at('items').items().entries())
        this.#read(item.value, { where: `${where}, items[${index}]`, path: [] });
    else if (typeof kind !== 'string')
      throw new InputError(
        where,
        'expected what `aws eks describe-nodegroup`, `aws autoscaling describe-auto-scaling-groups` or `aws ec2 ' +
          'describe-launch-template-versions` prints, a ClusterConfig of eksctl, or a Deployment or ConfigMap of cluster-autoscaler',
      );
  }
}

/** Looks launch templates up by ID or name, and by version, `$Latest` and `$Default` included. */
export const templatesIn =
  (parts: readonly DocumentPart[]): FindTemplate =>
  (reference, names) => {
    const textAt = (field: Field, name: string): string | undefined =>
      field.at(name).isMissing ? undefined : String(field.at(name).value);
    const [id, name, version] = [names.id, names.name, names.version].map((key) => textAt(reference, key));
    const own = parts.filter(({ field }) =>
      id === undefined ? textAt(field, 'LaunchTemplateName') === name : textAt(field, 'LaunchTemplateId') === id,
    );
    const number = ({ field }: DocumentPart): number => Number(textAt(field, 'VersionNumber') ?? 0);
    const newest = own.toSorted((a, b) => number(b) - number(a))[0];
    const found =
      version === '$Latest'
        ? newest
        : version === undefined || version === '$Default'
          ? (own.find(({ field }) => field.at('DefaultVersion').value === true) ?? newest)
          : own.find((part) => String(number(part)) === version);
    const data = found?.field.at('LaunchTemplateData');
    data?.given?.object();
    return data;
  };
