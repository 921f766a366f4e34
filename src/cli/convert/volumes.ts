/**
 * Converts volume sizes of the alpha API, which may be any quantity, to v1. v1 accepts whole numbers of Gi, G, Ti and
 * T.
 */
import { parseQuantity } from '../../api/quantity.ts';
import { hasTemplate, type ObjectEdit } from './edit.ts';
import type { Path } from './notes.ts';

const GIB = 2 ** 30;
const MOST_GIB = 59_000;
const MOST_TB = 64;
/** Sizes that v1 accepts, except units whose numbers v1 restricts further. */
const ACCEPTED = /^[1-9]\d{0,3}(?:Gi|G)$/;

/** @throws InputError if a size is too large for v1 */
export function convertVolumeSizes(edit: ObjectEdit): void {
  const mappings: Path = ['spec', 'blockDeviceMappings'];
  for (const index of edit.indexes(mappings)) {
    const path = [...mappings, index, 'ebs', 'volumeSize'];
    const size = edit.textOrNumber(path);
    if (size === undefined || ACCEPTED.test(size) || hasTemplate(size)) continue;
    const written = sizeText(edit, path, size);
    if (written === size) continue;
    edit.replaceValue(path, written);
    edit.note('changed', path, `was ${size}; v1 allows only integers with Gi, G, Ti or T`);
  }
}

function sizeText(edit: ObjectEdit, path: Path, size: string): string {
  const bytes = bytesOf(edit, path, size);
  const gib = Math.ceil(bytes / GIB);
  if (gib >= 1 && gib <= MOST_GIB) return `${gib}Gi`;
  const tb = Math.ceil(bytes / 1e12);
  if (tb >= 1 && tb <= MOST_TB) return `${tb}T`;
  return edit.fail(path, `${size} is not between 1Gi and ${MOST_TB}T, the range of v1`);
}

function bytesOf(edit: ObjectEdit, path: Path, size: string): number {
  try {
    return parseQuantity(size);
  } catch {
    return edit.fail(path, `${JSON.stringify(size)} is not a quantity, for example 100Gi`);
  }
}
