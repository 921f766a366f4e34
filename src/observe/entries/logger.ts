export { escapeControls, filterOutputs, withoutFilter, writeControl } from '../control-characters.ts';
export { errorText } from '../error-text.ts';
export { currentController, inController, type LogFields, type Logger, silent } from '../logger.ts';
