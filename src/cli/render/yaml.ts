/** Renders YAML whose value does not change if its control characters are escaped. */
import { type CreateNodeOptions, Document, type DocumentOptions, isScalar, type ToStringOptions, visit } from 'yaml';
import { escapeControls } from '#observe/logger';

/** Renders YAML without anchors, which some readers and tools do not support. */
export function yamlText(value: unknown, options: ToStringOptions & DocumentOptions & CreateNodeOptions = {}): string {
  const document = new Document(value, { aliasDuplicateObjects: false, ...options });
  visit(document, {
    Scalar(_, node) {
      // YAML supports escapes only in double quotes
      if (isScalar(node) && typeof node.value === 'string' && escapeControls(node.value) !== node.value)
        node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString(options);
}
