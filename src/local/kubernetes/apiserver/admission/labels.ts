/** Checks of label maps. */
import { record, text } from '../json.ts';
import { type Cause, invalidValue } from '../status.ts';
import { labelKeyError, labelValueError } from './names.ts';

export function labelCauses(labels: unknown, path: string): Cause[] {
  const causes: Cause[] = [];
  for (const [key, value] of Object.entries(record(labels))) {
    const wrongKey = labelKeyError(key);
    if (wrongKey) causes.push(invalidValue(path, key, wrongKey));
    const wrongValue = labelValueError(text(value));
    if (wrongValue) causes.push(invalidValue(path, value, wrongValue));
  }
  return causes;
}
