// The parts that nearly every view needs. A script that comes when it is wanted imports this as a
// whole: esbuild makes a file of its own of each set of parts that the same scripts need, and each
// file is a question to the controller more.

import "./actions";
import "./address";
import "./api";
import "./controller_address";
import "./dom";
import "./file";
import "./format";
import "./keyboard";
import "./operation";
import "./points";
import "./scripts";
import "./settings";
import "./status";
import "./tab";
import "./verdict";
import "./view";
