/** The script of the reference beside Redoc's: search, requests to try, and what Redoc's elements lack for assistive technology. */
import { keepAccessible } from './accessible.ts';
import { addSearch } from './search-dialog.ts';
import { addTryIt } from './try-it.ts';
import { unpacked } from './unpacked.ts';

keepAccessible();
addSearch();
addTryIt();
// For Redoc's module, which runs after this script.
Object.assign(globalThis, { unpacked });
