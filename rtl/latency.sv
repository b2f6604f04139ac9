// Cycles from a unit's first word in to its first word out, once for all who need them: the units, which add up those of their parts, and their
// benches. The tests hold them equal to the machine models'.
package latency;
    // The product, a stage for each round, the last subtraction.
    function automatic int unsigned prime_form_multiplier(int unsigned rounds);
        return rounds + 2;
    endfunction
endpackage
