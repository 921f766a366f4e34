/** Part of a document that describes one group, launch template, cluster or autoscaler. */
import type { Field } from '#lib';
import type { Path } from '../notes.ts';

export interface DocumentPart {
  readonly field: Field;
  readonly where: string;
  readonly path: Path;
  /** Flags of cluster-autoscaler, if the document contains values of its chart. */
  readonly flags?: readonly GivenFlag[];
}

export interface GivenFlag {
  readonly name: string;
  readonly value: string;
  /** Field that contains the flag. */
  readonly path: Path;
}
