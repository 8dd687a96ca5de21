// Boost.JSON's implementation, compiled once, so that no library of it need be linked.
#include <boost/json/src.hpp>
