export { findingsText } from '../render/findings.ts';
