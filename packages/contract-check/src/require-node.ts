/** Imported before all modules that fail on older versions of Node in words that do not say why. */
import { reasonAgainstNode } from './node-version.ts';

const reason = reasonAgainstNode(process.versions.node);
if (reason !== undefined) throw new Error(reason);
