/** The includeObject parameter of table requests. */
import type { IncludeObject } from '../table/index.ts';

export function includeOf(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject');
  return value === 'Object' || value === 'None' ? value : 'Metadata';
}
